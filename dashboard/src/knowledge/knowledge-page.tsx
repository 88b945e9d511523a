import { knowledgeParts } from '../frame/place-list.tsx';
import type { PlaceProps } from '../page.tsx';
import { pathTo } from '../route.ts';
import { text } from '../text.ts';
import { Bar, Content } from '../ui/bar.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { Crystals } from './crystals.tsx';
import { Memory } from './memory.tsx';
import { Solves } from './solves.tsx';

export function KnowledgePage({ rest: [part = 'memory', id] }: PlaceProps) {
  const name = knowledgeParts[part as keyof typeof knowledgeParts] ?? knowledgeParts.memory;
  const tabs = Object.entries(knowledgeParts).map(([each, title]) => ({
    id: each,
    name: title,
    href: pathTo('knowledge', each),
  }));
  return (
    <>
      <Bar title={name} />
      <div className="lg:hidden">
        <Tabs label={text.nav.knowledge} tabs={tabs} current={part} />
      </div>
      <Content width="max-w-[900px]">
        {part === 'crystals' ? <Crystals /> : part === 'solves' ? <Solves id={id} /> : <Memory id={id} />}
      </Content>
    </>
  );
}
