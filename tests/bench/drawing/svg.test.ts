import { describe, expect, it } from '@jest/globals';
import { COLORS } from './style.ts';
import { element, escapeText, picture, text } from './svg.ts';

describe('an SVG element', () => {
  it('escapes its attributes and texts, and rounds to a tenth of a pixel', () => {
    expect(text(1.26, 2, '<a> & "b"', { class: '"><script>' })).toBe(
      '<text x="1.3" y="2" class="&quot;&gt;&lt;script&gt;">&lt;a&gt; &amp; &quot;b&quot;</text>',
    );
  });

  it('has no end tag without children', () => {
    expect(element('rect', { rx: 8 })).toBe('<rect rx="8"/>');
  });

  it.each([
    ['a control character', 'a\u0000b\u001bc', 'a b c'],
    ['half a character', 'a\ud800b', 'a b'],
    ['a character outside of the basic plane', '\u{1f511}', '\u{1f511}'],
    ['µ, … and ·', 'µ … ·', 'µ … ·'],
  ])('with %s is valid XML', (_, content, written) => {
    expect(escapeText(content)).toBe(written);
  });
});

describe('a picture', () => {
  const svg = picture({ width: 10, height: 20, title: 'A & B', description: 'C < D', body: ['<g/>'] });

  it('has a text alternative', () => {
    expect(svg).toContain('<title id="title">A &amp; B</title>\n<desc id="description">C &lt; D</desc>');
    expect(svg).toContain('role="img" aria-labelledby="title description"');
  });

  it('has a background of its own, on light and on dark pages', () => {
    expect(svg).toContain('<rect width="10" height="20" rx="8" class="card"/>');
    const [light = '', dark = ''] = svg.split('prefers-color-scheme:dark');
    expect(light).toContain(`.card{fill:${COLORS.card.light}}`);
    expect(dark).toContain(`.card{fill:${COLORS.card.dark}}`);
  });
});

describe('the colors', () => {
  it.each(['ink', 'muted', 'good', 'second', 'bad'] as const)('%s is legible on the card, light and dark', (name) => {
    for (const theme of ['light', 'dark'] as const)
      expect(contrast(COLORS[name][theme], COLORS.card[theme])).toBeGreaterThanOrEqual(4.5);
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
