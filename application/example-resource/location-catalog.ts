import type { Location } from '../../domain/example-resource/location.ts';

/** The locations of the example resource. */
export interface LocationCatalog {
  /** The location with exactly this code, or undefined. Throws DependencyUnavailable if the catalog cannot be reached. */
  findByCode(code: string): Promise<Location | undefined>;
}
