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
