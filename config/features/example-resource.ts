import { locationRoute } from '../../adapters/http/example-resource/location-route.ts';
import { PLACES } from '../../domain/example-resource/location.ts';
import type { Feature } from '../feature.ts';
import type { Settings } from '../settings/settings.ts';

/** `EXAMPLE_RESOURCE`: a resource to try tokens on; `examples/node/locations-server.js` is the same as a server. */
export function exampleResource({ EXAMPLE_RESOURCE, LOCATION_FIELD_ORDER: order }: Settings): Feature | undefined {
  if (!EXAMPLE_RESOURCE) return undefined;
  return { routes: [locationRoute(PLACES, order)] };
}
