import type { ClientResources } from '../../application/ports/client-resources.ts';
import { DETAILS_MAX } from '../../domain/client-details.ts';
import type { ClientRegistration } from '../../domain/client-registration.ts';
import type { Runner } from './runner.ts';
import { migratedTable } from './table.ts';

export const CLIENT_RESOURCES = migratedTable(
  'client_resources',
  'optional',
  ...['client_id', 'registration_id', 'resource'],
);

/** One round trip by the primary key. */
const FIND_RESOURCES = {
  name: 'find_resources',
  text: `select resource from $schema.client_resources where client_id = $1 and registration_id = $2
    order by resource limit ${DETAILS_MAX.resources}`,
} as const;

/** Resources in the table `client_resources`: read at every look-up, never written and never cached. */
export class PostgresClientResources implements ClientResources {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  async findResources({ id, clientId }: Pick<ClientRegistration, 'id' | 'clientId'>): Promise<readonly string[]> {
    if (!this.#runner.isThere()) return [];
    const statement = { ...FIND_RESOURCES, values: [clientId, id] };
    const records = await this.#runner.run<{ readonly resource: string }>(statement);
    return records.map(({ resource }) => resource);
  }
}
