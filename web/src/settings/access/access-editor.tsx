import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { perRoot } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { formatDay } from '../../texts/format.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Checkbox, Choices } from '../../ui/choices.tsx'
import { TextField } from '../../ui/field.tsx'
import { FolderDialog } from '../../ui/folder-picker.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { Select } from '../../ui/select.tsx'
import type { AccessDraft } from './access.tsx'

const AccessibleProvidersQuery = graphql(`
  query AccessibleProviders {
    providers { id name basePaths }
  }
`)

interface EditorProps {
  access: AccessDraft
  onChange: (access: AccessDraft) => void
  /** Whether a storage can have several folders. */
  hasSeveral?: boolean
}

/** Chooses all providers, or some of them with folders in each. */
export function AccessEditor({ allHelp, ...props }: EditorProps & { allHelp: string }) {
  const { access, onChange, hasSeveral } = props
  return (
    <>
      <Choices
        label={texts.storages}
        value={access.all ? 'all' : 'chosen'}
        onChange={picked => onChange({ ...access, all: picked === 'all' })}
        choices={[
          { value: 'all', title: texts.allStorages, help: allHelp },
          {
            value: 'chosen',
            title: texts.selectedStorages,
            help: hasSeveral ? texts.selectedFoldersHelp : texts.selectedStoragesHelp,
          },
        ]}
      />
      {!access.all && <ProviderList {...props} />}
    </>
  )
}

function ProviderList({ access, onChange, hasSeveral = false }: EditorProps) {
  const query = useQuery({
    queryKey: [...queryKeys.providers, 'accessible'],
    queryFn: ({ signal }) => ask(AccessibleProvidersQuery, {}, { signal }),
  })
  const { data } = query
  if (!data) return <LoadState query={query} label={texts.loadingStorages} />
  if (data.providers.length === 0) return <p className="notice">{texts.noStorage}</p>

  const set = (id: string, paths: readonly string[]) => {
    const { [id]: _, ...others } = access.chosen
    onChange({ ...access, chosen: paths.length === 0 ? others : { ...others, [id]: paths } })
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div role="group" aria-label={texts.selected} className="access-list">
      {data.providers.map(provider => {
        const { id, name, basePaths } = provider
        const paths = access.chosen[id] ?? []
        const own = hasSeveral ? basePaths : basePaths.slice(0, 1)
        return (
          <div key={id} className="access-item">
            <Checkbox isSelected={paths.length > 0} onChange={isChosen => set(id, isChosen ? own : [])}>
              {name}
            </Checkbox>
            {paths.length > 0 && (
              <FolderList
                provider={provider}
                paths={paths}
                onChange={changed => set(id, changed)}
                hasSeveral={hasSeveral}
              />
            )}
          </div>
        )
      })}
    </div>
  )
}

/** Edits the accessible folders of one storage. There is at least one. */
function FolderList({
  provider,
  paths,
  onChange,
  hasSeveral,
}: {
  provider: { id: string; name: string; basePaths: readonly string[] }
  paths: readonly string[]
  onChange: (paths: readonly string[]) => void
  hasSeveral: boolean
}) {
  const { name } = provider
  /** The index of the folder that is chosen in the dialog; that of a new one is the length of the list. */
  const [browsing, setBrowsing] = useState<number | null>(null)
  const addButton = useRef<HTMLButtonElement>(null)
  return (
    <>
      {paths.map((path, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a path changes while it is typed
        <div key={index} className="access-path">
          <TextField
            label={texts.folderIn(name, paths.length > 1 ? index + 1 : null)}
            value={path}
            onChange={changed => onChange(paths.with(index, changed))}
            isRequired
          />
          <Button onPress={() => setBrowsing(index)} aria-label={texts.browseStorage(name, index + 1)}>
            {texts.browse}
          </Button>
          {paths.length > 1 && (
            <Button
              onPress={() => {
                onChange(paths.toSpliced(index, 1))
                addButton.current?.focus()
              }}
              aria-label={texts.removeFolder(path, name)}
            >
              {common.remove}
            </Button>
          )}
        </div>
      ))}
      {hasSeveral && (
        <div className="access-add">
          <Button ref={addButton} onPress={() => setBrowsing(paths.length)} aria-label={texts.addFolderIn(name)}>
            {texts.addFolder}
          </Button>
        </div>
      )}
      {browsing !== null && (
        <FolderDialog
          title={texts.chooseFolderIn(name)}
          providers={perRoot([provider])}
          onPick={({ path }) => onChange(browsing < paths.length ? paths.with(browsing, path) : [...paths, path])}
          onClose={() => setBrowsing(null)}
        />
      )}
    </>
  )
}

type Preset = keyof typeof texts.expiries

const presets = (['7', '30', '90', '365', 'custom', 'never'] as const).map(value => ({
  value,
  title: texts.expiries[value],
}))

/** Milliseconds. */
const day = 24 * 60 * 60 * 1000

/** The state of an expiry field: a preset, or the end of a custom day. */
export function useExpiry(start: Preset) {
  const [preset, setPreset] = useState<Preset>(start)
  const [date, setDate] = useState('')
  return {
    preset,
    setPreset,
    date,
    setDate,
    /** Returns an ISO 8601 time counted from now; null means never. */
    expiresAt(): string | null {
      if (preset === 'never') return null
      // The last day counts in full, in the browser's time zone.
      return (preset === 'custom' ? new Date(`${date}T23:59:59`) : inDays(Number(preset))).toISOString()
    },
  }
}

export function ExpiryField({ expiry, allowNever }: { expiry: ReturnType<typeof useExpiry>; allowNever: boolean }) {
  const { preset, date } = expiry
  return (
    <>
      <Select
        label={common.expires}
        options={presets.filter(({ value }) => allowNever || value !== 'never')}
        value={preset}
        onChange={expiry.setPreset}
        description={describe(preset)}
      />
      {preset === 'custom' && (
        <TextField
          label={texts.lastDay}
          type="date"
          value={date}
          onChange={expiry.setDate}
          isRequired
          validate={value => (value && new Date(`${value}T23:59:59`) <= new Date() ? texts.futureDate : null)}
        />
      )}
    </>
  )
}

function describe(preset: Preset): string {
  if (preset === 'custom') return texts.endOfDay
  if (preset === 'never') return texts.neverHelp
  return texts.onDay(formatDay(inDays(Number(preset)).toISOString()))
}

function inDays(days: number): Date {
  return new Date(Date.now() + days * day)
}
