import { randomBytes } from 'node:crypto';
import { forgedRequestBody } from '../../tests/support/forged-assertion.ts';
import { type AssertionMethod, originOf } from './assertion-clients.ts';

const FORM = 'application/x-www-form-urlencoded';

/** POST /oauth2/token, one character per byte. @param fields further header lines. */
export function tokenRequest(body: string, contentType = FORM, fields = '', path = '/oauth2/token'): string {
  return `POST ${path} HTTP/1.1\r\nHost: a\r\n${fields}Content-Type: ${contentType}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A token request with a secret. Neither value may need percent-encoding. */
export function secretRequest(clientId: string, secret: string, path?: string): string {
  const body = `grant_type=client_credentials&client_id=${clientId}&client_secret=${secret}`;
  return tokenRequest(body, FORM, '', path);
}

/** A wrong secret for a client, a different one each time. */
export function guessFor(clientId: string): string {
  return secretRequest(clientId, randomBytes(12).toString('hex'));
}

/** A client that is not registered, a different one each time. */
export function unknownClient(): string {
  return guessFor(unknownId());
}

/** The same, with the credentials in the header. */
export function unknownClientByHeader(): string {
  const credentials = Buffer.from(`${unknownId()}:${randomBytes(12).toString('hex')}`).toString('base64');
  return tokenRequest('grant_type=client_credentials', FORM, `Authorization: Basic ${credentials}\r\n`);
}

/** An assertion that nobody signed, of an unknown client or workload, a different one each time. */
export function forgedAssertion(method: AssertionMethod): string {
  return tokenRequest(forgedRequestBody(originOf(method, unknownId())));
}

let wide = 0;

/**
 * The same with claims that need far more memory than their text: as many values as an assertion may have and a long
 * text, and in turn with it as many as fit into 12 KiB.
 */
export function wideAssertion(method: AssertionMethod): string {
  wide += 1;
  const allowed = `"x":[${Array(490).fill('{}').join(',')}],"y":"${'y'.repeat(6_500)}"`;
  const refused = `"x":[${Array(2_800).fill('{}').join(',')}]`;
  return tokenRequest(forgedRequestBody(originOf(method, unknownId()), wide % 2 === 0 ? allowed : refused));
}

function unknownId(): string {
  return `unknown-${randomBytes(8).toString('hex')}`;
}

/** Requests that are answered with 400 before any secret is checked. */
export const GARBAGE: readonly string[] = [
  tokenRequest('grant_type=client_credentials&client_id=%zz&client_secret=x'),
  tokenRequest('grant_type=client_credentials&client_id=%c3%28&client_secret=x'),
  tokenRequest('grant_type=client_credentials&client_id=%'),
  tokenRequest('client_id=client-1&client_secret=x'),
  tokenRequest('grant_type=password&username=a&password=b'),
  tokenRequest('grant_type=client_credentials&grant_type=client_credentials'),
  tokenRequest(Array.from({ length: 60 }, (_, n) => `p${n}=1`).join('&')),
  tokenRequest('{"grant_type":"client_credentials"}', 'application/json'),
  tokenRequest('\x00\xff\xfe\x01', 'application/octet-stream'),
  tokenRequest('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--', 'multipart/form-data; boundary=b'),
  tokenRequest('grant_type=client_credentials&client_id=a&client_secret=b', `${FORM}; charset=utf-16`),
];
