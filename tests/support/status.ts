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

/** The status page as text. Throws unless the response is 200. @param query such as `?request=…`. */
export async function readStatusPage(managementUrl: string, query = ''): Promise<string> {
  const { status, text } = await asOperator(managementUrl, `/status${query}`);
  if (status !== 200) throw new Error(`${status} ${text}`);
  const body = text.slice(text.indexOf('<body>'));
  return body
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ');
}
