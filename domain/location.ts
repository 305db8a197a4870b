/** A place, the read model of the example resource. */
export interface Location {
  /** The catalog's own name for the place, such as `NYC_USA`; compared to the letter. */
  readonly code: string;
  readonly cityName: string;
  readonly regionName: string;
  readonly countryName: string;
  /** ISO 3166-1 alpha-2. */
  readonly countryCode: string;
  readonly enabled: boolean;
}
