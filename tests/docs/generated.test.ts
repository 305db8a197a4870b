import { expect, it } from '@jest/globals';
import { generatedPages } from '../support/generated-docs.ts';

it.each(generatedPages())('npm run docs leaves $file as it is', ({ current, generated }) => {
  expect(current).toBe(generated);
});
