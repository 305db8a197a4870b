import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import type { Candidate } from '../servers/candidate.ts';
import { SECRET } from '../servers/registrations.ts';

/**
 * Asks for a token as a client does and answers its size in bytes. Throws where it is no JWT that an RSA key of 2048 bits
 * of the candidate's key set signed with RS256: what is cheaper to make may not be compared.
 */
export async function checkToken(candidate: Candidate, clientId: string): Promise<number> {
  const answer = await fetch(candidate.tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: SECRET }),
  });
  const { access_token: token } = (await answer.json()) as { access_token?: string };
  if (answer.status !== 200 || token === undefined) throw new Error(`${candidate.name} answered ${answer.status}`);

  const keySet = (await (await fetch(candidate.keySetUrl)).json()) as JSONWebKeySet;
  await jwtVerify(token, createLocalJWKSet(keySet), { algorithms: ['RS256'], requiredClaims: ['iss', 'sub', 'exp'] });
  const { kid } = decodeProtectedHeader(token);
  const key = keySet.keys.find((candidateKey) => candidateKey.kid === kid);
  const { modulusLength } = createPublicKey({ key: key as JsonWebKey, format: 'jwk' }).asymmetricKeyDetails ?? {};
  if (modulusLength !== 2048) throw new Error(`${candidate.name} signs with ${modulusLength} bits`);
  return token.length;
}
