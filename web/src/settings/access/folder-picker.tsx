import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { ask } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'

const RootQuery = graphql(`
  query ProviderRoot($id: ID!) {
    provider(id: $id) { root { path } }
  }
`)

const FoldersQuery = graphql(`
  query Folders($id: ID!, $path: String!, $after: String) {
    folder(providerId: $id, path: $path) {
      entries(first: 1000, after: $after) {
        nodes { __typename name path }
        pageInfo { endCursor hasNextPage }
      }
    }
  }
`)

/** Goes through the folders of a provider, down from where the person's own reach begins. */
export function FolderPicker({
  providerId,
  providerName,
  onPick,
  onClose,
}: {
  providerId: string
  providerName: string
  onPick: (path: string) => void
  onClose: () => void
}) {
  const root = useQuery({
    queryKey: ['providers', providerId, 'root'],
    queryFn: ({ signal }) => ask(RootQuery, { id: providerId }, { signal }),
  })
  const [path, setPath] = useState<string | null>(null)
  const top = root.data?.provider.root.path
  const here = path ?? top
  return (
    <Dialog title={`Choose a folder in ${providerName}`} onClose={onClose}>
      {root.error && <ErrorBox error={root.error} retry={root.refetch} />}
      {here !== undefined && top !== undefined && (
        <>
          <nav aria-label="Folder" className="folder-trail">
            {trail(top, here).map(({ path, name }) => (
              <span key={path}>
                <Button
                  variant="quiet"
                  onPress={() => setPath(path)}
                  {...(path === here && { 'aria-current': 'location' })}
                >
                  {name || providerName}
                </Button>
                {path !== here && <span aria-hidden="true">/</span>}
              </span>
            ))}
          </nav>
          <Folders key={here} providerId={providerId} path={here} onOpen={setPath} />
        </>
      )}
      <div className="dialog-actions">
        <Button onPress={onClose}>Cancel</Button>
        <Button
          variant="primary"
          isDisabled={here === undefined}
          onPress={() => {
            if (here !== undefined) onPick(here)
            onClose()
          }}
        >
          Use this folder
        </Button>
      </div>
    </Dialog>
  )
}

function Folders({ providerId, path, onOpen }: { providerId: string; path: string; onOpen: (path: string) => void }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['folders', providerId, path],
    queryFn: ({ signal, pageParam }) => ask(FoldersQuery, { id: providerId, path, after: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ folder }) => (folder.entries.pageInfo.hasNextPage ? folder.entries.pageInfo.endCursor : null),
  })
  if (error && !data) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label="Loading the folders" />
  const folders = data.pages
    .flatMap(({ folder }) => folder.entries.nodes)
    .filter(({ __typename }) => __typename === 'Folder')
    .sort((a, b) => a.name.localeCompare(b.name))
  return (
    <>
      <ul className="folder-list" aria-label="Folders" tabIndex={folders.length === 0 ? 0 : undefined}>
        {folders.map(folder => (
          <li key={folder.path}>
            <Button variant="quiet" onPress={() => onOpen(folder.path)}>
              <span aria-hidden="true">📁</span> {folder.name}
            </Button>
          </li>
        ))}
        {folders.length === 0 && !hasNextPage && <li className="help">No folders in here.</li>}
      </ul>
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          Look for more
        </Button>
      )}
    </>
  )
}

/** From the top down to here, both included. */
function trail(top: string, here: string): { path: string; name: string }[] {
  const base = top === '/' ? '' : top
  const names = here.slice(base.length).split('/').filter(Boolean)
  const below = names.map((name, index) => ({ path: `${base}/${names.slice(0, index + 1).join('/')}`, name }))
  return [{ path: top, name: base.slice(base.lastIndexOf('/') + 1) }, ...below]
}
