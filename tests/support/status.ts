import type { StatusData } from '../../adapters/http/status-page/status-data.ts';
import type { RefusalRecord } from '../../application/ports/telemetry.ts';
import { freePort } from './free-port.ts';
import { type HttpResponse, send } from './http.ts';
import { type ServiceUnderTest, startServiceUnderTest } from './running-service.ts';

export const OPERATOR_TOKEN = 'an-operator-token-of-the-test-suites';

/** Starts a service whose management port asks for this token, with the URL of that port. */
export async function startServiceForOperator(
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly service: ServiceUnderTest; readonly url: string }> {
  const port = await freePort();
  const own = { MANAGEMENT_PORT: String(port), MANAGEMENT_TOKEN: OPERATOR_TOKEN };
  const service = await startServiceUnderTest({ environment: { ...own, ...environment } });
  return { service, url: `http://127.0.0.1:${port}` };
}

/** Sends a request to the management port as the operator. */
export function asOperator(managementUrl: string, path: string): Promise<HttpResponse> {
  return send(managementUrl, path, { headers: { Authorization: `Bearer ${OPERATOR_TOKEN}` } });
}

/** The data of the status page. Throws unless the response is 200. */
export async function readStatus(managementUrl: string, query = ''): Promise<StatusData> {
  return responseOf(await asOperator(managementUrl, `/status/data${query}`)) as unknown as StatusData;
}

/** One refused request. Throws unless the response is 200. */
export async function readRefusal(managementUrl: string, requestId: string): Promise<RefusalRecord> {
  return responseOf(await asOperator(managementUrl, `/status/refusals/${requestId}`)) as unknown as RefusalRecord;
}

function responseOf(response: HttpResponse): Record<string, unknown> {
  if (response.status !== 200) throw new Error(`${response.status} ${response.text}`);
  return response.json();
}
