/* Built from frontend/src by esbuild (make frontend). Read and change the sources. */
function s(d){let{data:e,name:t}=d;window.__headscopeFeeds=window.__headscopeFeeds||Object.assign(new EventTarget,{kept:new Map});let n=window.__headscopeFeeds;e&&e.byteLength&&e!==n.kept.get(t)&&(n.kept.set(t,e),n.dispatchEvent(new CustomEvent("feed",{detail:{name:t,data:e}})))}export{s as default};
