import { Suspense, useState } from 'react'
import { Link, useNavigate } from 'react-router'
import { nameOfPath } from '../../api/locations.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { texts as markTexts } from '../../texts/marks.ts'
import { texts } from '../../texts/search.tsx'
import { Icon } from '../../ui/icons.tsx'
import { useProviders } from '../listing.ts'
import { useTags } from '../marks/operations.ts'
import { hasFilters, type SearchFilters, searchHref } from './filters.ts'

const FolderPickerDialog = lazyPart(async () => (await import('../../ui/folder-picker.tsx')).FolderDialog)

/** The filters of a search. Each is in the address, so that a search can be kept and sent. */
export function Chips({ filters }: { filters: SearchFilters }) {
  const navigate = useNavigate()
  const { data: providers = [] } = useProviders()
  const [isPicking, setPicking] = useState(false)
  const change = (changed: Partial<SearchFilters>) =>
    void navigate(searchHref({ ...filters, ...changed }), { replace: true })
  const { kind, size, time, tag, within } = filters
  const { data: tags = [] } = useTags()
  // A storage with several accessible folders is one choice for each of them.
  const storages = providers.map(({ id, name, root }) => ({ value: `${id}${root.path}`, id, name, root }))
  const chosen = storages.find(({ id, root }) => id === within?.providerId && root.path === within.path)
  const folderName = within && !chosen ? nameOfPath(within.path) : null
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div className="chips" role="group" aria-label={texts.filters}>
      <Chip label={texts.kind} options={texts.kinds} value={kind} onChange={kind => change({ kind })} />
      <Chip label={texts.time} options={texts.times} value={time} onChange={time => change({ time })} />
      <Chip label={texts.size} options={texts.sizes} value={size} onChange={size => change({ size })} />
      {(tags.length > 0 || tag !== null) && (
        <Chip
          label={markTexts.tag}
          options={Object.fromEntries(
            [...tags.map(({ name }) => name), ...(tag === null ? [] : [tag])].map(each => [each, each]),
          )}
          value={tag}
          onChange={tag => change({ tag })}
        />
      )}
      {storages.length > 1 && (
        <Chip
          label={texts.storage}
          options={Object.fromEntries(storages.map(({ value, name }) => [value, name]))}
          value={chosen?.value ?? null}
          onChange={value => {
            const storage = storages.find(each => each.value === value)
            change({ within: storage ? { providerId: storage.id, path: storage.root.path } : null })
          }}
        />
      )}
      {folderName === null ? (
        <button type="button" className="chip" onClick={() => setPicking(true)}>
          <Icon name="folder" />
          {texts.folder}
        </button>
      ) : (
        <button
          type="button"
          className="chip chosen"
          aria-label={texts.removeFolder(folderName)}
          title={within?.path}
          onClick={() => change({ within: null })}
        >
          <Icon name="folder" />
          <span className="chip-text">{folderName}</span>
          <Icon name="cross" />
        </button>
      )}
      {hasFilters(filters) && (
        <Link className="clear-chips" to={searchHref({ text: filters.text })} replace>
          {texts.removeFilters}
        </Link>
      )}
      <Suspense>
        {isPicking && (
          <FolderPickerDialog
            title={texts.chooseFolder}
            providers={providers}
            initial={within}
            onPick={within => change({ within })}
            onClose={() => setPicking(false)}
          />
        )}
      </Suspense>
    </div>
  )
}

function Chip<Value extends string>({
  label,
  options,
  value,
  onChange,
}: {
  label: string
  options: Readonly<Record<Value, string>>
  value: Value | null
  onChange: (value: Value | null) => void
}) {
  return (
    <select
      className={`chip${value === null ? '' : ' chosen'}`}
      aria-label={label}
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value === '' ? null : (target.value as Value))}
    >
      <option value="">{value === null ? label : texts.any(label)}</option>
      {(Object.entries(options) as [Value, string][]).map(([key, title]) => (
        <option key={key} value={key}>
          {title}
        </option>
      ))}
    </select>
  )
}
