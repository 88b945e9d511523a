/** The site as VitePress builds it. `scripts/build-site.ts` puts the pages together and calls it. */
import type { DefaultTheme, UserConfig } from 'vitepress';
import type { Section } from './pages.ts';

/** `titleOf` gives the title of a page. */
export function siteConfig(
  sections: readonly Section[],
  titleOf: (page: string) => string,
): UserConfig<DefaultTheme.Config> {
  const item = (page: string) => ({ text: titleOf(page), link: `/${page.replace(/(index)?\.md$/, '')}` });
  return {
    title: 'Geode',
    description: 'A self-hosted home for AI agents: sealed sandboxes on your own machine',
    base: '/docs/',
    // The theme's start script then is a file of its own, which the content policy allows without a hash.
    metaChunk: true,
    cleanUrls: false,
    lastUpdated: false,
    head: [['link', { rel: 'icon', href: 'data:,' }]],
    srcExclude: ['public/**'],
    markdown: { theme: { light: 'github-light', dark: 'github-dark' } },
    themeConfig: {
      search: { provider: 'local' },
      outline: { level: [2, 3] },
      nav: [
        { text: 'Start', link: '/start' },
        { text: 'Commands', link: '/commands' },
        { text: 'Configuration', link: '/configuration' },
      ],
      sidebar: sections.map(({ title, pages }) => ({
        text: title,
        collapsed: false,
        items: pages.map(item),
      })),
    },
  };
}
