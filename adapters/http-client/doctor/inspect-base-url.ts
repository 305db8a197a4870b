import { type Finding, fine, note, problem } from '../../../domain/finding.ts';
import { isLoopback } from '../health-probe.ts';
import { ResponseTooLong, readJson } from '../read-json.ts';

/** Milliseconds that a response may take. */
const WITHIN_MS = 5_000;

const ELSEWHERE = 'BASE_URL leads to another service, or a proxy changes the path: correct BASE_URL or the proxy';

const WITHOUT_TLS = 'put a proxy with TLS there, set TLS_CERT_FILE and TLS_KEY_FILE, or correct BASE_URL';

interface PublicUrls {
  /** `BASE_URL`. */
  readonly baseUrl: string;
  /** `TOKEN_ISSUER`. */
  readonly issuer: string;
  readonly tokenUrl: string;
  readonly metadataUrl: string;
  readonly keySetUrl: string;
  /** `PUBLIC_METADATA`: whether metadata and key set are for callers without a token. */
  readonly isPublic: boolean;
}

type ErrorResponse = Awaited<ReturnType<typeof ask>>;

/**
 * Whether callers reach this service at its public URL: it has to answer there as this service does, with its own issuer.
 *
 * @param isRunning whether the service runs. Otherwise nothing can answer.
 */
export async function inspectBaseUrl(urls: PublicUrls, isRunning: boolean): Promise<readonly Finding[]> {
  const fix = 'put a proxy with TLS in front, and set BASE_URL to its https URL';
  const { protocol, hostname } = new URL(urls.baseUrl);
  const unencrypted =
    protocol === 'http:' && !isLoopback(hostname)
      ? [note('BASE_URL is http: secrets and tokens travel unencrypted', fix)]
      : [];
  return [await inspectResponses(urls, isRunning), ...unencrypted];
}

async function inspectResponses(urls: PublicUrls, isRunning: boolean): Promise<Finding> {
  const { tokenUrl, metadataUrl, isPublic } = urls;
  let url = tokenUrl;
  try {
    const token = await ask(tokenUrl);
    // Only POST gets tokens.
    if (token.status !== 405 || token.allow !== 'POST') return elsewhere(url, token);
    if (!isPublic) return fine(`${tokenUrl} answers; metadata and key set require a token (PUBLIC_METADATA=false)`);
    url = metadataUrl;
    const metadata = await ask(url);
    if (metadata.status !== 200) return elsewhere(url, metadata);
    if (metadata.body['issuer'] !== urls.issuer) {
      return problem(
        `the metadata at ${url} has another issuer than TOKEN_ISSUER`,
        'BASE_URL leads to another service, or to one with other settings: correct BASE_URL or TOKEN_ISSUER',
      );
    }
    url = urls.keySetUrl;
    return describeKeySet(url, await ask(url));
  } catch (fault) {
    if (fault instanceof ResponseTooLong)
      return problem(`${url} does not answer as this service: ${fault.message}`, ELSEWHERE);
    const code = codeOf(fault);
    const text = `nothing usable answers at ${url} (${code})`;
    if (!isRunning) return note(`${text}: the service does not run`, 'start the service, then run the doctor again');
    if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return problem(`${text}: it has no TLS`, WITHOUT_TLS);
    if (isLoopback(new URL(urls.baseUrl).hostname)) {
      return note(
        text,
        'in a container this is right, since localhost is the container itself; otherwise correct BASE_URL',
      );
    }
    const hint = /CERT|TLS|SSL/.test(code)
      ? '; the authority of its certificate is in NODE_EXTRA_CA_CERTS if it is your own'
      : '';
    return problem(text, `correct BASE_URL, or the proxy and the name server that lead to it${hint}`);
  }
}

/** The ids are what an operator compares with the `kid` of a token that a resource server refuses. */
function describeKeySet(url: string, answer: ErrorResponse): Finding {
  const keys = answer.body['keys'];
  if (answer.status !== 200 || !Array.isArray(keys)) {
    return problem(
      `the metadata answers, but the key set at ${url} has status ${answer.status}`,
      'let the proxy pass on every path of the service; 503 means that the service has no key',
    );
  }
  return fine(`${url} answers, with the keys ${keys.map((key) => String(key?.kid)).join(', ')}`);
}

function elsewhere(url: string, { status }: ErrorResponse): Finding {
  const redirect = status >= 300 && status < 400 ? ': a redirect, and callers lose their request' : '';
  return problem(`${url} answers with status ${status}, not as this service${redirect}`, ELSEWHERE);
}

/** The body is empty if it is no JSON. */
async function ask(url: string) {
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(WITHIN_MS) });
  const body: Readonly<Record<string, unknown>> = Object(await readJson(response));
  return { status: response.status, allow: response.headers.get('allow'), body };
}

/** `fetch` hides the code of the system in the cause. */
function codeOf(fault: unknown): string {
  const { cause, name } = fault as Error & { readonly cause?: NodeJS.ErrnoException };
  return cause?.code ?? name;
}
