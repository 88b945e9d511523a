/** Environment variables of an image for its programs. */
import type Docker from 'dockerode';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import { httpStatusOf } from './engine.ts';

/** A name that starts with "-" could be read as an option by some engine. */
export function checkImage(image: string): string {
  if (/^[a-z0-9][\w./:@-]{0,254}$/i.test(image)) return image;
  throw new GeodeError('invalid_input', `${JSON.stringify(image)} is not an image name.`);
}

export interface ImageContent {
  readonly id: string;
  /** The environment that the image defines for its programs. */
  readonly env: Readonly<Record<string, string>>;
}
const mostRemembered = 100;

/** An image named by its content is read once, because that cannot change. A name may soon mean another image. */
export function rememberedContent(engine: () => Promise<Docker>): (image: string) => Promise<ImageContent> {
  const known = new Map<string, ImageContent>();
  return async (image) => {
    const before = known.get(image);
    if (before !== undefined) return before;
    const content = await contentOf(await engine(), image);
    if (known.size >= mostRemembered) known.clear();
    if (/^sha256:[0-9a-f]{64}$/.test(image)) known.set(image, content);
    return content;
  };
}

/** Also proves that the image exists. */
async function contentOf(engine: Docker, image: string): Promise<ImageContent> {
  const facts = await engine
    .getImage(image)
    .inspect()
    .catch((cause) => {
      if (httpStatusOf(cause) !== 404)
        throw new GeodeError('engine_failed', `The engine could not look at ${image}: ${reasonOf(cause)}`, {
          cause,
        });
      throw new GeodeError('image_missing', `The image ${image} is not on this engine.`, {
        hint: `Run \`docker pull ${image}\`, or use another image.`,
        cause,
      });
    });
  const pairs = (facts.Config?.Env ?? []).map(
    (pair) => [pair.split('=', 1)[0] ?? '', pair.slice(pair.indexOf('=') + 1)] as const,
  );
  return { id: facts.Id, env: Object.fromEntries(pairs) };
}
