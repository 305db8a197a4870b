import { AuthenticateBySecret } from '../../../application/authenticate-by-secret.ts';
import { AuthenticateByKey } from '../../../application/private-key-jwt/authenticate-by-key.ts';
import { idPrefix, PLANTED } from './timing-cases.ts';

// For `node --import`, in the processes of a measured service: one case's refusals take longer, whatever path they
// take. A test of the measurement, which has to find the difference; the service has no setting for it.
const microseconds = Number(new URL(import.meta.url).searchParams.get('microseconds'));
const prefix = idPrefix(PLANTED);
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
    if (clientId.startsWith(prefix)) work(microseconds);
  }
}

function work(duration: number): void {
  const end = process.hrtime.bigint() + BigInt(Math.round(duration * 1_000));
  while (process.hrtime.bigint() < end);
}
