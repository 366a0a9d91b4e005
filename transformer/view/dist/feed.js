/* Built from frontend/src by esbuild (make frontend). Read and change the sources. */
function o(){return window.__headscopeFeeds??=Object.assign(new EventTarget,{kept:new Map})}function i(t,e,n=!1){n&&o().kept.set(t,e),o().dispatchEvent(new CustomEvent("feed",{detail:{name:t,data:e}}))}function s(t){let{data:e,name:n}=t;e&&e.byteLength&&e!==o().kept.get(n)&&i(n,e,!0)}export{s as default};
