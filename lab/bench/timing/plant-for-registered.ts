import { AuthenticateBySecret } from '../../../application/authenticate-by-secret.ts';
import { AuthenticateByKey } from '../../../application/private-key-jwt/authenticate-by-key.ts';

// For `node --import`, in the process of a measured service: refusals of registered ids take longer. A test of the
// measurement.
const parameters = new URL(import.meta.url).searchParams;
const microseconds = Number(parameters.get('microseconds'));
const prefixes = new Set(parameters.get('prefixes')?.split(','));
const bySecret = AuthenticateBySecret.prototype.execute;
const byKey = AuthenticateByKey.prototype.execute;

AuthenticateBySecret.prototype.execute = async function (this: AuthenticateBySecret, credentials, caller) {
  return slowed(credentials.clientId, bySecret.call(this, credentials, caller));
};

AuthenticateByKey.prototype.execute = async function (this: AuthenticateByKey, presented, caller) {
  return slowed(presented.assertion.claims.sub, byKey.call(this, presented, caller));
};

async function slowed<Value>(clientId: string, response: Promise<Value>): Promise<Value> {
  try {
    return await response;
  } finally {
    const end =
      process.hrtime.bigint() + BigInt(Math.round(prefixes.has(clientId.slice(0, 4)) ? microseconds * 1_000 : 0));
    while (process.hrtime.bigint() < end);
  }
}
