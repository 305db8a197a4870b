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

/** The places of the example: code, city, region, country, ISO 3166-1 alpha-2 country code. */
const ROWS = [
  ['NYC_USA', 'New York City', 'New York', 'United States of America', 'US'],
  ['LACA_USA', 'Los Angeles', 'California', 'United States of America', 'US'],
  ['CHI_USA', 'Chicago', 'Illinois', 'United States of America', 'US'],
  ['TOR_CA', 'Toronto', 'Ontario', 'Canada', 'CA'],
  ['MEX_MX', 'Mexico City', 'Ciudad de México', 'Mexico', 'MX'],
  ['SAO_BR', 'São Paulo', 'São Paulo', 'Brazil', 'BR'],
  ['BUE_AR', 'Buenos Aires', 'Ciudad Autónoma de Buenos Aires', 'Argentina', 'AR'],
  ['LON_GB', 'London', 'England', 'United Kingdom', 'GB'],
  ['PAR_FR', 'Paris', 'Île-de-France', 'France', 'FR'],
  ['LYO_FR', 'Lyon', 'Auvergne-Rhône-Alpes', 'France', 'FR'],
  ['BER_DE', 'Berlin', 'Berlin', 'Germany', 'DE'],
  ['MUC_DE', 'Munich', 'Bavaria', 'Germany', 'DE'],
  ['MAD_ES', 'Madrid', 'Comunidad de Madrid', 'Spain', 'ES'],
  ['ROM_IT', 'Rome', 'Lazio', 'Italy', 'IT'],
  ['ZRH_CH', 'Zurich', 'Zurich', 'Switzerland', 'CH'],
  ['STO_SE', 'Stockholm', 'Stockholm County', 'Sweden', 'SE'],
  ['IST_TR', 'Istanbul', 'Istanbul', 'Türkiye', 'TR'],
  ['CAI_EG', 'Cairo', 'Cairo Governorate', 'Egypt', 'EG'],
  ['LAG_NG', 'Lagos', 'Lagos State', 'Nigeria', 'NG'],
  ['NBO_KE', 'Nairobi', 'Nairobi County', 'Kenya', 'KE'],
  ['DELHI_IN', 'New Delhi', 'Delhi', 'India', 'IN'],
  ['MBMH_IN', 'Mumbai', 'Maharashtra', 'India', 'IN'],
  ['SIN_SG', 'Singapore', 'Singapore', 'Singapore', 'SG'],
  ['TYO_JP', 'Tokyo', 'Tokyo', 'Japan', 'JP'],
  ['SEL_KR', 'Seoul', 'Seoul', 'Korea, Republic of', 'KR'],
  ['SYD_AU', 'Sydney', 'New South Wales', 'Australia', 'AU'],
  ['AKL_NZ', 'Auckland', 'Auckland', 'New Zealand', 'NZ'],
] as const;

export const PLACES: readonly Location[] = ROWS.map(([code, cityName, regionName, countryName, countryCode]) => ({
  code,
  cityName,
  regionName,
  countryName,
  countryCode,
  enabled: true,
}));
