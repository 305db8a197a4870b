import type { Location } from '../../../domain/example-resource/location.ts';
import { sendRefusal } from '../server/exchange.ts';
import { httpRefusal } from '../server/http-refusal.ts';
import type { Handler, Route } from '../server/koa-application.ts';

type LocationFieldOrder = 'declared' | 'alphabetical';

/** GET /v1/locations/{code}: the example resource. The code is compared as it is sent. */
export function locationRoute(places: readonly Location[], order: LocationFieldOrder): Route {
  const byCode = new Map(places.map((place) => [place.code, place]));
  const handler: Handler = async (ctx) => {
    const location = byCode.get(ctx.path.slice(ctx.path.lastIndexOf('/') + 1));
    if (location === undefined) return sendRefusal(ctx, httpRefusal('resource_unknown'));
    ctx.status = 200;
    ctx.body = representation(location, order);
  };
  return { path: '/v1/locations/:code', access: { kind: 'bearer' }, methods: { GET: handler } };
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
