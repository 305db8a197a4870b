import { describe, expect, it } from '@jest/globals';
import { InMemoryLocationCatalog } from '../../../adapters/memory/example-resource/in-memory-location-catalog.ts';
import { FindLocation } from '../../../application/example-resource/find-location.ts';
import type { Location } from '../../../domain/example-resource/location.ts';

const LOCATION: Location = {
  code: 'NYC_USA',
  cityName: 'New York City',
  regionName: 'New York',
  countryName: 'United States of America',
  countryCode: 'US',
  enabled: true,
};

describe('FindLocation', () => {
  it('finds the location with exactly this code', async () => {
    const findLocation = new FindLocation(new InMemoryLocationCatalog([LOCATION]));
    expect(await findLocation.execute('NYC_USA')).toEqual(LOCATION);
    expect(await findLocation.execute('nyc_usa')).toBeUndefined();
  });
});
