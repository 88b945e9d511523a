import { useQuery } from '@tanstack/react-query';
import { readSession } from '../api.ts';
import { openKeys } from '../frame/keyboard.tsx';
import { setSetupHidden } from '../home/setup.ts';
import { goTo } from '../route.ts';
import { text } from '../text.ts';
import { applyTheme, chosenTheme, themes } from '../theme.ts';
import { Card } from '../ui/card.tsx';
import { Choice } from '../ui/field.tsx';
import { Config } from './config.tsx';

export function About({ isAdmin }: { readonly isAdmin: boolean }) {
  const session = useQuery({ queryKey: ['session'], queryFn: readSession });
  return (
    <>
      <Card title={text.product}>
        <p className="mb-3 text-muted">
          {text.settings.version} {session.data?.version ?? ''}
        </p>
        <div className="flex flex-wrap items-end gap-3">
          <Choice
            label={text.nav.theme}
            options={themes.map((theme) => text.nav.themes[theme])}
            defaultValue={text.nav.themes[chosenTheme()]}
            onChange={({ target }) =>
              applyTheme(themes.find((theme) => text.nav.themes[theme] === target.value) ?? 'system')
            }
          />
          <button type="button" className="button" onClick={openKeys}>
            {text.palette.keys}
          </button>
          <button
            type="button"
            className="button"
            onClick={() => {
              setSetupHidden(false);
              goTo();
            }}
          >
            {text.home.show}
          </button>
          <a className="button" href="#/settings/about/components">
            {text.settings.components}
          </a>
          <a className="button" href="reference">
            {text.settings.reference}
          </a>
        </div>
      </Card>
      {isAdmin && <Config />}
    </>
  );
}
