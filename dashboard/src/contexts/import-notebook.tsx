import { useMutation } from '@tanstack/react-query';
import { client } from '../api.ts';
import { goTo } from '../route.ts';
import { text } from '../text.ts';
import { Problem } from '../ui/problem.tsx';
import { keepImported } from './imported.ts';
import { parseNotebook } from './ipynb.ts';

/** Opens a notebook of Jupyter: its cells wait here, and run when a person runs them. */
export function ImportNotebook() {
  const read = useMutation({
    mutationFn: async (file: File) => {
      const { language, cells } = parseNotebook(await file.text());
      const { id } = await client.contexts.open(language);
      keepImported(id, cells);
      goTo('code', 'notebooks', id);
    },
  });
  return (
    <div className="mt-3 flex flex-col gap-2 border-t border-line pt-3">
      <label className="button self-start">
        {text.contexts.import}
        <input
          type="file"
          accept=".ipynb"
          aria-label={text.contexts.import}
          className="sr-only"
          disabled={read.isPending}
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            if (file !== undefined) read.mutate(file);
          }}
        />
      </label>
      {read.error && <Problem error={read.error} />}
    </div>
  );
}
