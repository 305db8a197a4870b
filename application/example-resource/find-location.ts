import type { Location } from '../../domain/example-resource/location.ts';
import type { LocationCatalog } from './location-catalog.ts';

/** Finds a location of the example resource. */
export class FindLocation {
  readonly #catalog: LocationCatalog;

  constructor(catalog: LocationCatalog) {
    this.#catalog = catalog;
  }

  /** The location with exactly this code, or undefined. Throws what the catalog throws. */
  execute(code: string): Promise<Location | undefined> {
    return this.#catalog.findByCode(code);
  }
}
