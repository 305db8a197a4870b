import type { LocationCatalog } from '../../../application/example-resource/location-catalog.ts';
import type { Location } from '../../../domain/example-resource/location.ts';

/** A fixed set of places in this process's memory. */
export function inMemoryLocationCatalog(places: readonly Location[]): LocationCatalog {
  const byCode = new Map(places.map((place) => [place.code, Object.freeze({ ...place })]));
  return { findByCode: async (code) => byCode.get(code) };
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
