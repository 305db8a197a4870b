import { FEDERATED_ONLY, type OpenExplanation } from '../../adapters/cli/federated-jwt/explain-command.ts';
import { EXIT, Problem } from '../../adapters/cli/outcome.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { AuthenticateClient } from '../../application/authenticate-client.ts';
import type { Caller } from '../../application/ports/caller.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { statesOf } from '../../application/ports/health-check.ts';
import { inWords } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { containerToRead } from '../container.ts';
import { clientAssertions } from '../core/client-assertions.ts';
import { storage } from '../core/storage.ts';
import { closeFeatures } from '../feature.ts';
import { federatedJwt } from '../features/federated-jwt.ts';
import { loadConfiguration } from '../settings/load-configuration.ts';
import type { Environment } from '../settings/read-environment.ts';

/** Who asks: nobody else, and they wait. */
const CALLER: Caller = {
  network: '127.0.0.1',
  disconnected: new AbortController().signal,
  waitUncounted: (wait) => wait(),
};

/**
 * Opens what authenticates assertions, with the settings of the service. The method counts as switched on, and without
 * a clients file the registrations are in the database.
 */
export async function openExplain(environment: Environment): Promise<Result<OpenExplanation, readonly string[]>> {
  const { CLIENT_REPOSITORY: repository, CLIENTS_FILE, DATABASE_FILE } = environment;
  if (!environment['CLIENT_ASSERTION_ISSUERS_FILE'])
    return failure([`CLIENT_ASSERTION_ISSUERS_FILE: is not set. ${FEDERATED_ONLY}`]);
  const CLIENT_REPOSITORY = repository || (CLIENTS_FILE ? 'memory' : DATABASE_FILE ? 'sqlite' : 'postgres');
  const federated = { CLIENT_REPOSITORY, CLIENT_AUTHENTICATION_METHODS: 'federated_jwt' };
  const loaded = loadConfiguration({ ...environment, ...federated }, readTextFile);
  if (!loaded.ok) return failure(loaded.problem.map(inWords));
  const core = containerToRead(loaded.value);
  const registrations = await storage(loaded.value, core).catch((fault: unknown) => {
    throw new DependencyUnavailable('client repository', fault);
  });
  const opened = [registrations, clientAssertions(loaded.value.settings, core)];
  const feature = federatedJwt(loaded.value, core);
  const features = [...opened, feature].filter((found) => found !== undefined);
  await feature?.prepare?.();
  const authenticate = new AuthenticateClient({ federated_jwt: feature?.method });
  return success({
    async execute(credentials) {
      const notes = statesOf(feature?.checks ?? []).flatMap((check) => (check.ready && check.note) || []);
      return authenticate.execute(credentials, CALLER).catch((fault: unknown) => {
        if (notes.length === 0) throw fault;
        throw new Problem(EXIT.refused, `It could not be verified: key sets: ${notes.join()}.`);
      });
    },
    close: () => closeFeatures(features),
  });
}
