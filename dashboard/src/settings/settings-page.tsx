import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import { readSession } from '../api.ts';
import type { PlaceProps } from '../page.tsx';
import { pathTo } from '../route.ts';
import { text } from '../text.ts';
import { Bar, Content } from '../ui/bar.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { About } from './about.tsx';
import { Backups } from './backups.tsx';
import { Channels } from './channels.tsx';
import { EgressSettings } from './egress-settings.tsx';
import { Health } from './health.tsx';
import { Images } from './images.tsx';
import { Keys } from './keys.tsx';
import { Models } from './models.tsx';
import { Pairings } from './pairings.tsx';
import { type SettingsPart, settingsParts } from './parts.ts';
import { Schedules } from './schedules.tsx';
import { Secrets } from './secrets.tsx';
import { Users } from './users.tsx';
import { Webhooks } from './webhooks.tsx';

const Components = lazy(async () => ({ default: (await import('./components-page.tsx')).ComponentsPage }));

export function SettingsPage({ rest: [asked = 'health', inner] }: PlaceProps) {
  const part: SettingsPart = asked in settingsParts ? (asked as SettingsPart) : 'health';
  const session = useQuery({ queryKey: ['session'], queryFn: readSession });
  const isAdmin = session.data?.scopes.includes('admin') ?? false;
  const tabs = Object.entries(settingsParts).map(([id, name]) => ({
    id,
    name,
    href: pathTo('settings', id),
  }));
  if (part === 'about' && inner === 'components')
    return (
      <Suspense fallback={<p className="p-4 text-faint">{text.loading}</p>}>
        <Components />
      </Suspense>
    );
  return (
    <>
      <Bar title={settingsParts[part]} />
      <div className="lg:hidden">
        <Tabs label={text.nav.settings} tabs={tabs} current={part} />
      </div>
      <Content width="max-w-[900px]">
        <PartOf part={part} isAdmin={isAdmin} />
      </Content>
    </>
  );
}

function PartOf({ part, isAdmin }: { readonly part: SettingsPart; readonly isAdmin: boolean }): ReactNode {
  const onlyAdmin = (shown: ReactNode) =>
    isAdmin ? shown : <p className="text-muted">{text.settings.noAdmin}</p>;
  switch (part) {
    case 'health':
      return <Health isAdmin={isAdmin} />;
    case 'models':
      return <Models />;
    case 'keys':
      return onlyAdmin(<Keys />);
    case 'users':
      return onlyAdmin(<Users />);
    case 'secrets':
      return <Secrets />;
    case 'channels':
      return (
        <>
          <Channels />
          {isAdmin && <Pairings />}
        </>
      );
    case 'images':
      return <Images />;
    case 'egress':
      return <EgressSettings />;
    case 'schedules':
      return <Schedules />;
    case 'webhooks':
      return <Webhooks />;
    case 'backups':
      return onlyAdmin(<Backups />);
    case 'about':
      return <About isAdmin={isAdmin} />;
  }
}
