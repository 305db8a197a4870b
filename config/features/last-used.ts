import { TOKEN_PATH } from '../../adapters/http/endpoints/paths.ts';
import { NOTED_MAX, NoteLastUsed } from '../../application/last-used/note-last-used.ts';
import { type Core, PARTS } from '../container.ts';
import { needsOf } from '../core/storage.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';
import { openStorage } from '../storages.ts';

/** `RECORD_LAST_USED`: on which day each client got its last token. */
export async function lastUsed(configuration: Configuration, core: Core): Promise<Feature | undefined> {
  const { settings } = configuration;
  if (!settings.RECORD_LAST_USED) return undefined;
  const { openLastUsed } = await openStorage(settings);
  if (openLastUsed === undefined) throw new Error('the storage has no place for it');
  const { store, dependency } = await openLastUsed(needsOf(configuration, core, 'last used'));
  const note = new NoteLastUsed(store, core.resolve(PARTS.tokenClock));
  return {
    checks: [dependency],
    start: () => note.start(),
    counter: {
      count({ route, client_id, token_id }) {
        if (route === TOKEN_PATH && client_id !== undefined && token_id !== undefined) note.note(client_id);
      },
    },
    metrics: (values) => values.gauge('auth_last_used_clients', note.noted, NOTED_MAX),
    async close() {
      await note.close();
      await dependency.close();
    },
  };
}
