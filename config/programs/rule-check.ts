import { jsonReader } from '../../adapters/files/json-fault.ts';
import { readIssuersFile } from '../../adapters/http-client/federated-jwt/read-issuers-file.ts';
import type { ReadTextFile } from '../../adapters/system/read-text-file.ts';
import type { FederatedSubject } from '../../domain/client-details.ts';
import { weaknessByName } from '../../domain/federated-jwt/issuer-preset.ts';
import { TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import type { Environment } from '../settings/read-environment.ts';

/**
 * The check of rules in a program that manages clients: with the file of trusted issuers if the environment names it,
 * as the service does; otherwise by the names of the platforms.
 */
export function readRuleCheck(
  { CLIENT_ASSERTION_ISSUERS_FILE: path }: Environment,
  readTextFile: ReadTextFile,
): Result<(rule: FederatedSubject) => string | undefined, string> {
  if (!path) return success(weaknessByName);
  const text = readTextFile(path);
  const issuers = text.ok ? jsonReader(readIssuersFile)(text.value) : failure([text.problem]);
  if (!issuers.ok) return failure(`CLIENT_ASSERTION_ISSUERS_FILE: ${issuers.problem.join('; ')}.`);
  const trusted = new TrustedIssuers(issuers.value.map((issuer) => ({ ...issuer, audience: '' })));
  return success((rule) => trusted.problemOf(rule));
}
