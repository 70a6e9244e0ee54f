/** All components in all of their states. Only the development server has this page. */
import type { ReactNode } from 'react'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/design.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon, type IconName, iconNames } from '../../ui/icons.tsx'
import { fileKinds, KindIcon } from '../../ui/kind-icon.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page.tsx'
import { ProgressBar } from '../../ui/progress-bar.tsx'
import { SpaceMeter } from '../../ui/space-meter.tsx'
import { StartSteps } from '../../ui/steps.tsx'
import { knownTypes, StorageLogo } from '../../ui/storage-logo.tsx'
import { notify, Toasts } from '../../ui/toasts.tsx'
import { Fields } from './fields.tsx'
import { Overlays } from './overlays.tsx'
import './design.css'

const colors = ['ground', 'surface', 'raised', 'sunken', 'hover', 'line', 'line-strong', 'ink', 'ink-soft'] as const
const accents = ['accent', 'accent-strong', 'accent-ground', 'mark', 'mark-ground', 'danger', 'good', 'warn'] as const
const variants = ['default', 'primary', 'danger', 'quiet'] as const

export function DesignPage() {
  return (
    <main className="page">
      <PageTitle>{texts.title}</PageTitle>
      <h1>{texts.title}</h1>
      <Part title={texts.colors}>
        {[...colors, ...accents].map(name => (
          <figure key={name} className="swatch">
            <div style={{ background: `var(--${name})` }} />
            <figcaption>{name}</figcaption>
          </figure>
        ))}
      </Part>
      <Part title={texts.type}>
        <div className="stack">
          {texts.sizes.map(size => (
            <span key={size} style={{ fontSize: `var(--text-${size})` }}>
              {texts.sample} ({size})
            </span>
          ))}
        </div>
      </Part>
      <Part title={texts.shape}>
        {['radius-s', 'radius', 'radius-l', 'radius-full'].map(radius => (
          <div key={radius} className="shape" style={{ borderRadius: `var(--${radius})` }}>
            {radius}
          </div>
        ))}
        {['shadow-1', 'shadow-2', 'shadow'].map(shadow => (
          <div key={shadow} className="shape" style={{ boxShadow: `var(--${shadow})` }}>
            {shadow}
          </div>
        ))}
      </Part>
      <Part title={texts.buttons}>
        {variants.map(variant => (
          <div key={variant} className="stack">
            <Button variant={variant}>
              <Icon name="upload" />
              {texts.variants[variant]}
            </Button>
            <Button variant={variant} isPending>
              {texts.states.pending}
            </Button>
            <Button variant={variant} isDisabled>
              {texts.states.disabled}
            </Button>
          </div>
        ))}
      </Part>
      <Part title={texts.fields}>
        <Fields />
      </Part>
      <Part title={texts.messages}>
        <div className="stack wide">
          <p className="notice">{texts.notice}</p>
          <ErrorBox error={texts.error} retry={() => {}} />
          <div className="inline-row">
            {(['good', 'warn', 'bad'] as const).map(badge => (
              <span key={badge} className={`badge ${badge}`}>
                {texts.badges[badge]}
              </span>
            ))}
            <Button onPress={() => notify(texts.toast)}>{texts.toast}</Button>
          </div>
          <ProgressBar label={texts.progress} percent={40} />
          <StartSteps current={1} />
          <SpaceMeter label={texts.space} text={texts.space} used={40} limit={100} />
          <SpaceMeter label={texts.full} text={texts.full} used={95} limit={100} />
          <Loading label={texts.loading} />
          <span className="skeleton" />
        </div>
        <div className="empty">
          <Icon name="folder" />
          <p className="empty-title">{texts.empty}</p>
          <p>{texts.emptyHelp}</p>
        </div>
      </Part>
      <Part title={texts.menus}>
        <Overlays />
      </Part>
      <Part title={texts.kinds}>
        {fileKinds.map(kind => (
          <Labeled key={kind} label={kind}>
            <KindIcon kind={kind} />
          </Labeled>
        ))}
      </Part>
      <Part title={texts.logos}>
        {[...knownTypes, texts.otherType].map(type => (
          <Labeled key={type} label={type}>
            <span className="logo-plate">
              <StorageLogo type={type} />
            </span>
          </Labeled>
        ))}
      </Part>
      <Part title={texts.people}>
        {['Ada Lovelace', 'Grace Hopper', 'mona@example.org', 'Ōe Kenzaburō'].map(name => (
          <Labeled key={name} label={name}>
            <Avatar name={name} />
          </Labeled>
        ))}
      </Part>
      <Part title={texts.icons}>
        {iconNames.map((name: IconName) => (
          <Labeled key={name} label={name}>
            <Icon name={name} />
          </Labeled>
        ))}
      </Part>
      <p className="help">{common.product}</p>
      <Toasts />
    </main>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <div className="design-part">{children}</div>
    </section>
  )
}

function Labeled({ label, children }: { label: string; children: ReactNode }) {
  return (
    <span className="labeled">
      {children}
      <span className="help">{label}</span>
    </span>
  )
}
