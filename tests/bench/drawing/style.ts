/** Fonts of all pictures. */
export const FONT = 'Helvetica, Arial, sans-serif';

/** The colors of each class, on a light and on a dark page. Contrast of texts and lines with the card is at least 4.5. */
export const COLORS = {
  card: { light: '#f6f8fa', dark: '#161b22' },
  ink: { light: '#1f2328', dark: '#e6edf3' },
  muted: { light: '#59636e', dark: '#9da7b1' },
  grid: { light: '#d1d9e0', dark: '#3d444d' },
  span: { light: '#eadfe0', dark: '#33262b' },
  good: { light: '#2f6fb3', dark: '#6cb0f5' },
  second: { light: '#2c7a4b', dark: '#6fcf97' },
  bad: { light: '#b3372f', dark: '#f4796f' },
} as const;

export type ColorName = keyof typeof COLORS;

/** A color of a class that only one kind of picture has. */
export interface ClassColor {
  readonly name: string;
  readonly light: string;
  readonly dark: string;
}

const CLASSES: readonly ClassColor[] = Object.entries(COLORS).map(([name, colors]) => ({ name, ...colors }));

/** The style sheet of all pictures: `.good` fills with a color, `.good-line` draws a line in it. */
export const STYLE = `text{font-family:${FONT};font-size:14px}${colorRules(CLASSES)}`;

/** The same two rules for further colors. */
export function colorRules(classes: readonly ClassColor[]): string {
  const rules = (theme: 'light' | 'dark') =>
    classes
      .map(({ name, [theme]: color }) => `.${name}{fill:${color}}.${name}-line{stroke:${color};fill:none}`)
      .join('');
  return `${rules('light')}@media (prefers-color-scheme:dark){${rules('dark')}}`;
}
