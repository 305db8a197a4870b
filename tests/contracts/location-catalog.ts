import { describe, expect, it } from '@jest/globals';
import type { LocationCatalog } from '../../application/example-resource/location-catalog.ts';
import type { Location } from '../../domain/example-resource/location.ts';

export function describeLocationCatalog(name: string, fresh: (places: readonly Location[]) => LocationCatalog): void {
  const place: Location = {
    code: 'NYC_USA',
    cityName: 'New York City',
    regionName: 'New York',
    countryName: 'United States of America',
    countryCode: 'US',
    enabled: true,
  };

  describe(`${name} keeps the promises of LocationCatalog`, () => {
    it('finds a place by its code', async () => {
      expect(await fresh([place]).findByCode('NYC_USA')).toEqual(place);
    });

    it.each(['nyc_usa', 'NYC_USA ', 'NYC', '', '__proto__', 'constructor'])(
      'finds nothing with the code %j',
      async (code) => {
        expect(await fresh([place]).findByCode(code)).toBeUndefined();
      },
    );

    it('finds nothing if it is empty', async () => {
      expect(await fresh([]).findByCode('NYC_USA')).toBeUndefined();
    });
  });
}
