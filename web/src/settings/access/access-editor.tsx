import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { perRoot } from '../../api/storages.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Checkbox } from '../../ui/checkbox.tsx'
import { Choices } from '../../ui/choices.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { TextField } from '../../ui/field.tsx'
import { FolderDialog } from '../../ui/folder-picker.tsx'
import { Loading } from '../../ui/loading.tsx'
import type { AccessDraft } from './draft.ts'

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
  const { data, error, refetch } = useQuery({
    queryKey: [...queryKeys.providers, 'accessible'],
    queryFn: ({ signal }) => ask(AccessibleProvidersQuery, {}, { signal }),
  })
  if (error && !data) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={texts.loadingStorages} />
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
