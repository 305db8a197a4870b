/** A location, the read model of the example resource. */
export interface Location {
  /** The catalog's own name for the location, such as `NYC_USA`; compared exactly. */
  readonly code: string;
  readonly cityName: string;
  readonly regionName: string;
  readonly countryName: string;
  /** ISO 3166-1 alpha-2. */
  readonly countryCode: string;
  readonly enabled: boolean;
}
