import { describe, expect, it } from '@jest/globals';
import { PARTS } from '../cpu-profile.ts';
import { PART_COLORS } from './flame-graph.ts';
import { COLORS } from './style.ts';

describe('the colors', () => {
  it.each(['ink', 'muted', 'good', 'second', 'bad'] as const)('%s is legible on the card, light and dark', (name) => {
    for (const theme of ['light', 'dark'] as const)
      expect(contrast(COLORS[name][theme], COLORS.card[theme])).toBeGreaterThanOrEqual(4.5);
  });

  it.each(PARTS)('names of frames are legible on %s, light and dark', (part) => {
    const [light, dark] = PART_COLORS[part];
    expect(contrast(COLORS.ink.light, light)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(COLORS.ink.dark, dark)).toBeGreaterThanOrEqual(4.5);
  });
});

/** WCAG 2.2, contrast ratio. */
function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
