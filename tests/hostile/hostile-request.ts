import type { TokenForge } from './token-forge.ts';

/** What one response has to be. */
export interface ExpectedResponse {
  readonly status: number;
  /** Field `error` of the body; undefined where the response is no refusal. */
  readonly error?: string;
  /** The reason in the log, which the caller does not get. */
  readonly reason?: string;
  /** Header fields that the response must have, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body has an `error_description`: that depends on no credentials. */
  readonly isExplained?: true;
  /** The body is an access token. */
  readonly isToken?: true;
  /** The response to HEAD, which has no body. */
  readonly isHead?: true;
}

/** One request that no well-behaved client sends, and what the service has to do with it. */
export interface HostileRequest {
  readonly name: string;
  /** What is sent, one character per byte. Each text of an array is its own write. */
  readonly bytes: string | readonly string[] | ((forge: TokenForge) => string);
  /** The answers, in order; none if the service closes the connection without one. */
  readonly answers: readonly ExpectedResponse[];
  /**
   * What happens after the last response: the service closes the connection, or it stays open, and the next request on
   * it is answered on its own. That shows that no byte of the hostile request was taken for a request.
   */
  readonly connection: 'closed' | 'open';
}

/** By group. No two requests of a group have one name. */
export type HostileRequests = Readonly<Record<string, readonly HostileRequest[]>>;

export const FORM_TYPE = 'application/x-www-form-urlencoded';
export const CREDENTIALS = 'client_id=good-client&client_secret=good-secret';
/** A form that gets a token. */
export const FORM = `grant_type=client_credentials&${CREDENTIALS}`;
export const LOCATION = '/v1/locations/NYC_USA';
/** A complete request. A service that takes it out of the body of another one answers it. */
export const SMUGGLED = `GET ${LOCATION} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** A token. */
export const TOKEN: ExpectedResponse = { status: 200, isToken: true };
/** The example resource. */
export const RESOURCE: ExpectedResponse = { status: 200 };
export const UNAUTHORIZED: ExpectedResponse = {
  status: 401,
  error: 'unauthorized',
  reason: 'token_missing',
  headers: { 'www-authenticate': 'Bearer' },
};
export const MALFORMED = badRequest('request_malformed');

export function badRequest(reason: string, headers: ExpectedResponse['headers'] = {}): ExpectedResponse {
  return { status: 400, error: 'invalid_request', reason, headers };
}

/** `invalid_client`, for which the log alone has a reason. */
export function invalidClient(reason: string): ExpectedResponse {
  return { status: 401, error: 'invalid_client', reason };
}

/** `invalid_client` for what the request itself shows: the caller gets a description. It depends on no registration. */
export function openlyRefused(reason: string): ExpectedResponse {
  return { ...invalidClient(reason), isExplained: true };
}

export function notAllowed(methods: string): ExpectedResponse {
  return { status: 405, error: 'invalid_request', reason: 'method_not_allowed', headers: { allow: methods } };
}

/** Any refusal with this status. */
export function refused(status: number, error: string, reason: string): ExpectedResponse {
  return { status, error, reason };
}

/**
 * A request after which the service closes the connection: it asks for that, or no further byte of it can be trusted.
 */
export function closing(
  name: string,
  bytes: HostileRequest['bytes'],
  ...answers: readonly ExpectedResponse[]
): HostileRequest {
  return { name, bytes, answers, connection: 'closed' };
}

/** A request after which the connection stays open. */
export function keeping(
  name: string,
  bytes: HostileRequest['bytes'],
  ...answers: readonly ExpectedResponse[]
): HostileRequest {
  return { name, bytes, answers, connection: 'open' };
}

/** The bytes of a request: its first line, header lines, and a body. */
export function request(line: string, headers: readonly string[] = [], body = ''): string {
  return `${[line, ...headers].join('\r\n')}\r\n\r\n${body}`;
}

/** POST /oauth2/token with these header lines; the framing is up to the caller. */
export function tokenRequest(headers: readonly string[], body = '', query = ''): string {
  return request(`POST /oauth2/token${query} HTTP/1.1`, ['Host: x', `Content-Type: ${FORM_TYPE}`, ...headers], body);
}

/** POST /oauth2/token with this body on its own connection, and more header lines. */
export function post(body: string, headers: readonly string[] = [], query = ''): string {
  return tokenRequest([`Content-Length: ${body.length}`, 'Connection: close', ...headers], body, query);
}

/** GET on its own connection. */
export function get(target: string, headers: readonly string[] = []): string {
  return request(`GET ${target} HTTP/1.1`, ['Host: x', 'Connection: close', ...headers]);
}

/** A text as its bytes in UTF-8, one character per byte. */
export function utf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}
