import type { DocumentProblem, ReadDocument } from '../../../application/admin-api/administer-clients.ts';
import type { StoredClient } from '../../../application/ports/client-store.ts';
import { type ClientDetails, withoutEmpty } from '../../../domain/client-details.ts';
import { failure, success } from '../../../domain/result.ts';
import { isLocked, NO_SECRET, unlock } from '../../../domain/stored-secret.ts';
import { checkEntry } from '../clients-file.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The codes of problems by those of the schema. */
const CODES: Readonly<Record<string, string>> = { unrecognized_keys: 'unknown_field', invalid_type: 'invalid_type' };

const HASHED = {
  code: 'secret_not_hashed',
  text: 'must be a BCrypt encoding of cost 4 to 14',
  fix: 'leave it out to keep what is stored, or POST /clients/{id}/secrets to generate one',
};

const STATES = ['enabled', 'disabled', 'broken'];

/**
 * Reads a document as an entry of a clients file. The secrets that it leaves out are as they are stored, those of its
 * list by their ids. `state`, `problem` and `last_used` may be in it as they were read.
 */
export function documentReader(
  clientId: string,
  { state, problem: _shown, last_used: _use, ...given }: JsonObject,
): ReadDocument {
  return (stored) => {
    const { client_id: id = clientId } = given;
    const isDisabled = stored !== undefined && isLocked(stored.clientSecret);
    const isSame = state === undefined || (STATES.includes(String(state)) && (state === 'disabled') === isDisabled);
    const { entry, problems: ofEntry } = checkEntry(withStored({ ...given, client_id: clientId }, stored));
    const problems: readonly DocumentProblem[] = [
      ...(id === clientId ? [] : [{ path: 'client_id', code: 'id_differs', text: 'must be the id of the path' }]),
      ...(isSame
        ? []
        : [{ path: 'state', code: 'read_only', text: 'must be as it is', fix: 'POST to /disable or /enable' }]),
      ...ofEntry.map(({ path, code, text }) =>
        code === 'secret' ? { path, ...HASHED } : { path, code: CODES[code] ?? 'invalid_value', text },
      ),
    ];
    return entry === undefined || problems.length > 0 ? failure(problems) : success(entry);
  };
}

function withStored(given: JsonObject, stored: StoredClient | undefined): JsonObject {
  const { secrets: known = [], ...own }: Partial<ClientDetails> =
    stored === undefined ? {} : withoutEmpty(stored.details);
  const { client_secret_expires_at, client_secret_generated } = own;
  const marks = {
    ...(client_secret_expires_at && { client_secret_expires_at }),
    ...(client_secret_generated && { client_secret_generated }),
  };
  const kept =
    stored === undefined ? { client_secret: NO_SECRET } : { client_secret: unlock(stored.clientSecret), ...marks };
  const filled = (secret: unknown) => {
    const id: unknown = Object(secret).secret_id;
    const same = known.find(({ secret_id }) => secret_id === id);
    return same === undefined ? secret : { client_secret: same.client_secret, ...Object(secret) };
  };
  const { secrets = known } = given;
  return {
    ...('client_secret' in given ? {} : kept),
    ...given,
    ...((!Array.isArray(secrets) || secrets.length > 0) && {
      secrets: Array.isArray(secrets) ? secrets.map(filled) : secrets,
    }),
  };
}
