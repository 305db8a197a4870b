import type { ClientResources } from '../../application/ports/client-resources.ts';
import { DETAILS_MAX } from '../../domain/client-details.ts';
import type { ClientRegistration } from '../../domain/client-registration.ts';
import type { FileReader } from './file-reader.ts';

const FIND_RESOURCES = `select resource from client_resources join clients on registration_id = clients.id
  where client_id = ? and clients.id = ? order by resource limit ${DETAILS_MAX.resources}`;

/** Resources in the table `client_resources`: read at every look-up, never written and never cached. */
export class SqliteClientResources implements ClientResources {
  readonly #file: FileReader;

  constructor(file: FileReader) {
    this.#file = file;
  }

  async findResources({ id, clientId }: Pick<ClientRegistration, 'id' | 'clientId'>): Promise<readonly string[]> {
    return this.#file.read<{ readonly resource: string }>(FIND_RESOURCES, clientId, id).map(({ resource }) => resource);
  }
}
