import { STYLE } from './style.ts';

export type Attributes = Readonly<Record<string, string | number>>;

/** An SVG element. Children are markup: texts from outside go through `escapeText` first. Attributes are escaped here. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeText(attributeText(value))}"`);
  const start = `<${name}${written.join('')}`;
  return children.length === 0 ? `${start}/>` : `${start}>${children.join('')}</${name}>`;
}

/** A line of text whose baseline is at `y`. */
export function text(x: number, y: number, content: string, attributes: Attributes = {}): string {
  return element('text', { x, y, ...attributes }, escapeText(content));
}

/** Characters that have a meaning in XML become entities; those that XML 1.0 does not allow become spaces. */
export function escapeText(content: string): string {
  return content
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** What the picture shows, for people who cannot see it. */
  readonly description: string;
  /** Elements, one per line. */
  readonly body: readonly string[];
}

/** A whole SVG file with a background of its own, since an image does not know which page is around it. */
export function picture({ width, height, title, description, body }: Picture): string {
  const head = { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' };
  const lines = [
    element('title', { id: 'title' }, escapeText(title)),
    element('desc', { id: 'description' }, escapeText(description)),
    element('style', {}, STYLE),
    element('rect', { width, height, rx: 8, class: 'card' }),
    ...body,
  ];
  return `${element('svg', { ...head, 'aria-labelledby': 'title description' }, `\n${lines.join('\n')}\n`)}\n`;
}

/** Numbers are rounded to a tenth of a pixel. */
function attributeText(value: string | number): string {
  return typeof value === 'number' ? String(Math.round(value * 10) / 10) : value;
}
