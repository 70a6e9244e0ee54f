/** The page of entries to which the person has given a star, or that have the tag in the address. */
import { Link, useSearchParams } from 'react-router'
import { texts } from '../../texts/marks.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { EntryList } from '../entry-list/list.tsx'
import { useReload } from '../entry-list/use-reload.ts'
import { listMarked, listTags, marksKey, tagHref } from './operations.ts'
import { hueOf } from './tag-links.tsx'
import './marks.css'

export function MarkedPage() {
  const tag = useSearchParams()[0].get('tag')
  const title = tag === null ? texts.starred : texts.taggedWith(tag)
  return (
    <main className="page">
      <PageHead title={title} />
      <TagFilter chosen={tag} />
      <Marked key={tag ?? ''} tag={tag} />
    </main>
  )
}

/** All tags, as links to what has them. The chosen one leads back to the stars. */
function TagFilter({ chosen }: { chosen: string | null }) {
  const { query, nodes: tags = [] } = usePages([marksKey, 'tags'], listTags)
  const isChosen = (name: string) => name.toLowerCase() === chosen?.toLowerCase()
  if (tags.length === 0 && chosen === null) return null
  return (
    <nav className="tag-filter" aria-label={texts.tags}>
      <Link to="/starred" className="tag-tab" aria-current={chosen === null ? 'page' : undefined}>
        <Icon name="star" />
        {texts.starred}
      </Link>
      {tags.map(({ name, count }) => (
        <Link
          key={name}
          to={tagHref(name)}
          className="tag-tab"
          data-hue={hueOf(name)}
          aria-current={isChosen(name) ? 'page' : undefined}
        >
          <span className="tag-dot" />
          <span className="tag-name">{name}</span>
          <span className="tag-count">{count}</span>
        </Link>
      ))}
      <ShowMore query={query} className="small" />
    </nav>
  )
}

function Marked({ tag }: { tag: string | null }) {
  const { query, nodes } = usePages([marksKey, 'list', tag], (after, signal) => listMarked(tag, after, signal))
  const reload = useReload(marksKey)
  const loading = tag === null ? texts.loadingStarred : texts.loadingTagged
  return (
    <>
      {query.error && <ErrorBox error={query.error} retry={query.refetch} />}
      {query.isPending && <Loading label={loading} />}
      {nodes?.length === 0 && (
        <div className="empty">
          <Icon name={tag === null ? 'star' : 'tag'} />
          <p className="empty-title">{tag === null ? texts.noStars : texts.noneTagged(tag)}</p>
          {tag === null && <p>{texts.noStarsHelp}</p>}
        </div>
      )}
      {nodes && nodes.length > 0 && (
        <EntryList label={tag === null ? texts.starred : texts.taggedWith(tag)} entries={nodes} onChanged={reload} />
      )}
      <ShowMore query={query} />
    </>
  )
}
