import { locationRoute } from '../../adapters/http/example-resource/location-route.ts';
import { inMemoryLocationCatalog, PLACES } from '../../adapters/memory/example-resource/in-memory-location-catalog.ts';
import { define } from '../capability.ts';
import { LISTS } from '../parts.ts';
import { EXAMPLE_SETTINGS } from './example-resource/locations-settings.ts';

/** A protected resource to try tokens on, as a path of the service; `npm run locations` is the same as a server of its own. */
export const exampleResource = define({
  name: 'example-resource',
  settings: EXAMPLE_SETTINGS,
  register(parts, { settings }) {
    if (!settings.EXAMPLE_RESOURCE) return;
    const catalog = inMemoryLocationCatalog(PLACES);
    parts.register(LISTS.publicRoutes, { useValue: [locationRoute(catalog, settings.LOCATION_FIELD_ORDER)] });
  },
});
