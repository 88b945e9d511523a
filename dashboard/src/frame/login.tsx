import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Fragment, useEffect, useRef } from 'react';
import { logIn } from '../api.ts';
import { text } from '../text.ts';
import { Command } from '../ui/command.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Logo } from '../ui/logo.tsx';
import { Problem } from '../ui/problem.tsx';

/** A link contains a code that works once. */
export function LoginPage({ code }: { readonly code?: string | undefined }) {
  const queries = useQueryClient();
  const enter = async (given: string) => {
    await logIn(given);
    // The code must not stay in the history of the browser.
    location.replace('#/');
    await queries.resetQueries();
  };
  const login = useMutation({ mutationFn: enter });
  const tried = useRef('');
  const { mutate } = login;
  useEffect(() => {
    if (code === undefined || tried.current === code) return;
    tried.current = code;
    mutate(code);
  }, [code, mutate]);
  return (
    <main className="mx-auto mt-[10vh] w-[min(30rem,94vw)]">
      <div className="card flex flex-col gap-3">
        <h1 className="flex items-center gap-2">
          <Logo />
          {text.product}: {text.login.title}
        </h1>
        <p>{text.login.how}</p>
        {text.login.commands.map(({ when, line }) => (
          <Fragment key={line}>
            {when && <p className="text-muted">{when}</p>}
            <Command line={line} />
          </Fragment>
        ))}
        <ActionForm
          submit={text.login.submit}
          act={({ link = '' }) => enter(link.split('/login/').at(-1)?.trim() ?? '')}
        >
          <TextField label={text.login.code} name="link" required autoComplete="off" />
        </ActionForm>
        {login.error && <Problem error={login.error} />}
      </div>
    </main>
  );
}
