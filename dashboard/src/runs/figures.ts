import backend from './geode_figures.py?raw';

/** Run options that bring the figures of `plt.show()` back as files: there is no screen in a sandbox. */
export const withFigures = {
  env: { MPLBACKEND: 'module://geode_figures' },
  files: { 'geode_figures.py': new TextEncoder().encode(backend) },
  artifacts: ['geode-figure-*.png'],
} as const;

const pictures = [
  { ending: /\.png$/i, type: 'image/png' },
  { ending: /\.jpe?g$/i, type: 'image/jpeg' },
] as const;

/** Undefined for files that are no picture. */
export function pictureType(path: string): string | undefined {
  return pictures.find(({ ending }) => ending.test(path))?.type;
}
