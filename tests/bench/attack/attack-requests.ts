import { randomBytes } from 'node:crypto';
import { forgedRequestBody } from '../../support/forged-assertion.ts';
import { claimedBy } from './attacked-methods.ts';

const FORM = 'application/x-www-form-urlencoded';

/** A wrong secret for a client, a different one each time. */
export function guessFor(clientId: string): string {
  return requestFor(clientId, randomBytes(12).toString('hex'));
}

/** A token request. Neither value may need percent-encoding. */
export function requestFor(clientId: string, secret: string): string {
  return post(`grant_type=client_credentials&client_id=${clientId}&client_secret=${secret}`);
}

/** A client that is not registered, a different one each time. */
export function unknownClient(): string {
  return guessFor(unknownId());
}

/** The same, with the credentials in the header. */
export function unknownClientByHeader(): string {
  const credentials = Buffer.from(`${unknownId()}:${randomBytes(12).toString('hex')}`).toString('base64');
  return post('grant_type=client_credentials', FORM, `Authorization: Basic ${credentials}\r\n`);
}

/** An assertion that nobody signed, of an unknown client or workload, a different one each time. */
export function forgedAssertion(method: keyof typeof claimedBy): string {
  return post(forgedRequestBody(claimedBy[method](unknownId())));
}

let wide = 0;

/**
 * The same with claims that need far more memory than their text: as many values as an assertion may have and a long text,
 * and in turn with it as many as fit into 12 KiB.
 */
export function wideAssertion(method: keyof typeof claimedBy): string {
  wide += 1;
  const allowed = `"x":[${Array(490).fill('{}').join(',')}],"y":"${'y'.repeat(6_500)}"`;
  const refused = `"x":[${Array(2_800).fill('{}').join(',')}]`;
  return post(forgedRequestBody(claimedBy[method](unknownId()), wide % 2 === 0 ? allowed : refused));
}

function unknownId(): string {
  return `unknown-${randomBytes(8).toString('hex')}`;
}

/** Requests that are answered with 400 before any secret is checked. */
export const GARBAGE: readonly string[] = [
  post('grant_type=client_credentials&client_id=%zz&client_secret=x'),
  post('grant_type=client_credentials&client_id=%c3%28&client_secret=x'),
  post('grant_type=client_credentials&client_id=%'),
  post('client_id=client-1&client_secret=x'),
  post('grant_type=password&username=a&password=b'),
  post('grant_type=client_credentials&grant_type=client_credentials'),
  post(Array.from({ length: 60 }, (_, n) => `p${n}=1`).join('&')),
  post('{"grant_type":"client_credentials"}', 'application/json'),
  post('\x00\xff\xfe\x01', 'application/octet-stream'),
  post('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--', 'multipart/form-data; boundary=b'),
  post('grant_type=client_credentials&client_id=a&client_secret=b', `${FORM}; charset=utf-16`),
];

/** One character per byte. */
function post(body: string, contentType = FORM, fields = ''): string {
  return `POST /oauth2/token HTTP/1.1\r\nHost: a\r\n${fields}Content-Type: ${contentType}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
