import { homedir } from 'node:os';
import type { TestContext } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import { fetchModel, modelFolder } from '../../src/memory/embed/fetch-model.ts';
import { localModels } from '../../src/memory/embed/local-models.ts';

/** Where the model is on this machine; the test is skipped when it is not there and cannot be fetched. */
export async function modelOrSkip(context: TestContext): Promise<string> {
  const folder = modelFolder(process.env, homedir());
  try {
    await fetchModel(localModels[0], { folder });
  } catch (thrown) {
    if (!isGeodeError(thrown, 'model_unavailable')) throw thrown;
    context.skip('the model is not cached and no source is reachable');
  }
  return folder;
}
