import { freePort } from '../../tests/support/free-port.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  PLAIN_CLIENT,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../tests/support/running-service.ts';
import { CLIENT_WITH_CLAIMS } from './client-with-claims.ts';

/** A client of docs/getting-a-token.md, and what the page says about it. */
export interface ClientSnippet {
  /** The file of the page. */
  readonly file: string;
  /** The one setting that the client needs, and what stands there without it. */
  readonly setting?: readonly [shown: string, without: string];
  /** Part of the error that the page names: without the setting, or from a service that does not accept HTTP Basic. */
  readonly error?: string;
}

/** Whether a client cannot get a token while the service reads secrets only from the body. */
export const knowsOnlyBasic = ({ setting, error }: ClientSnippet): boolean =>
  setting === undefined && error !== undefined;

/**
 * The code, which has the demo's values where it reads none from the environment, for a service on loopback, without
 * the client's setting if that is asked for.
 */
export function codeFor(
  snippets: ReadonlyMap<string, string>,
  { file, setting }: ClientSnippet,
  url: string,
  variant: 'as shown' | 'without its setting' = 'as shown',
): string {
  const code = snippets.get(file);
  if (code === undefined) throw new Error(`the page has no snippet ${file}`);
  const [shown, without] = setting ?? ['', ''];
  if (!code.includes(shown)) throw new Error(`${file} does not have the setting: ${shown}`);
  return (variant === 'as shown' ? code : code.replace(shown, without))
    .replaceAll('http://localhost:8080', url)
    .replaceAll('demo-client', GOOD_CLIENT.client_id)
    .replaceAll('demo-secret', GOOD_SECRET);
}

/** What the programs of examples/ read, for a service on loopback and one of its own resources. */
export function exampleEnvironment(url: string): Readonly<Record<string, string>> {
  return {
    ISSUER: url,
    AUDIENCE: 'https://api.example.com',
    CLIENT_ID: GOOD_CLIENT.client_id,
    CLIENT_SECRET: GOOD_SECRET,
    API_URL: `${url}/v1/locations/NYC_USA`,
  };
}

/** The profile with which clients need no settings of their own, and a resource to try their tokens on. */
export const STANDARD = {
  SERVICE_PROFILE: 'standard',
  TOKEN_AUDIENCE: 'https://api.example.com',
  EXAMPLE_RESOURCE: 'true',
};

/**
 * A service with public metadata whose base URL is where it listens, since clients compare the two. Its tokens have
 * claims of the client.
 */
export async function startServiceForClients(
  environment: Readonly<Record<string, string>> = {},
  clients: readonly Readonly<Record<string, unknown>>[] = [CLIENT_WITH_CLAIMS, PLAIN_CLIENT],
): Promise<ServiceUnderTest> {
  const port = await freePort();
  const own = { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}`, PUBLIC_METADATA: 'true' };
  return startServiceUnderTest({ environment: { ...own, ...environment }, clients });
}
