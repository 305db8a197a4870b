import type { FindLocation } from '../../../application/find-location.ts';
import type { Location } from '../../../domain/location.ts';
import type { Handler } from '../server/application.ts';
import { refuse } from '../server/exchange.ts';
import { httpRefusal } from '../server/refusals.ts';

export type LocationFieldOrder = 'declared' | 'alphabetical';

export const LOCATION_PATH = '/v1/locations/:code';

/** GET /v1/locations/{code}. The code is compared as it is in the path, without percent-decoding. */
export function locationEndpoint(findLocation: FindLocation, order: LocationFieldOrder): Handler {
  return async (ctx) => {
    const code = ctx.path.slice(ctx.path.lastIndexOf('/') + 1);
    const location = await findLocation.execute(code);
    if (location === undefined) return refuse(ctx, httpRefusal('resource_unknown'));
    ctx.status = 200;
    ctx.body = representation(location, order);
  };
}

function representation(location: Location, order: LocationFieldOrder): Record<string, string | boolean> {
  const declared = {
    code: location.code,
    city_name: location.cityName,
    region_name: location.regionName,
    country_code: location.countryCode,
    country_name: location.countryName,
    enabled: location.enabled,
  };
  if (order === 'declared') return declared;
  return Object.fromEntries(Object.entries(declared).sort(([one], [other]) => (one < other ? -1 : 1)));
}
