import type { Location } from '../../domain/location.ts';

/** The places of the example resource. */
export interface LocationCatalog {
  /** The place of exactly this code, or undefined. Throws DependencyUnavailable where the catalog cannot be reached. */
  findByCode(code: string): Promise<Location | undefined>;
}
