import { describe, expect, it } from '@jest/globals';
import {
  inMemoryLocationCatalog,
  PLACES,
} from '../../../../adapters/memory/example-resource/in-memory-location-catalog.ts';
import { describeLocationCatalog } from '../../../contracts/location-catalog.ts';

describeLocationCatalog('inMemoryLocationCatalog', (places) => inMemoryLocationCatalog(places));

describe('the places of the example', () => {
  it('are at least 20, each with a code of its own and every field filled', () => {
    expect(PLACES.length).toBeGreaterThanOrEqual(20);
    expect(new Set(PLACES.map((place) => place.code)).size).toBe(PLACES.length);
    for (const place of PLACES) {
      expect(Object.values(place)).not.toContain('');
      expect(place.countryCode).toMatch(/^[A-Z]{2}$/);
      expect(place.enabled).toBe(true);
    }
  });

  it.each(['NYC_USA', 'PAR_FR', 'DELHI_IN'])('hold %s', (code) => {
    expect(PLACES.map((place) => place.code)).toContain(code);
  });
});
