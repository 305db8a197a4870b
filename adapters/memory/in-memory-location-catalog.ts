import type { LocationCatalog } from '../../application/ports/location-catalog.ts';
import type { Location } from '../../domain/location.ts';

/** A fixed set of places in this process's memory. */
export class InMemoryLocationCatalog implements LocationCatalog {
  readonly #places: ReadonlyMap<string, Location>;

  constructor(places: readonly Location[]) {
    this.#places = new Map(places.map((place) => [place.code, Object.freeze({ ...place })]));
  }

  async findByCode(code: string): Promise<Location | undefined> {
    return this.#places.get(code);
  }
}
